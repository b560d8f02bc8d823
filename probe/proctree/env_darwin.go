package proctree

import "slices"

func childrenOf(root string, pid int) ([]int, error) {
	if _, err := Read(root, pid); err != nil {
		return nil, err
	}
	return childrenByTable(root, pid)
}

func withEnv(root, name, value string) ([]int, error) {
	if _, err := envMark(name, value); err != nil {
		return nil, err
	}
	t, err := Take(root)
	if err != nil {
		return nil, err
	}
	var marked []int
	for p := range t.All() {
		if hasEnv(root, p.PID, name, value) {
			marked = append(marked, p.PID)
		}
	}
	return marked, nil
}

func hasEnv(_ string, pid int, name, value string) bool {
	if _, err := envMark(name, value); err != nil {
		return false
	}
	data, err := procArgs(pid)
	if err != nil {
		return false
	}
	_, env, err := parseProcArgs(data)
	return err == nil && slices.Contains(env, name+"="+value)
}
