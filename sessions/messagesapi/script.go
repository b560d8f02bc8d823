package messagesapi

// Always answers every request in the same way.
func Always(r Reply) Script {
	return func(Request) Reply { return r }
}

// InSteps answers the requests that follow a prompt one by one, in each conversation anew and again after each further
// prompt; the last reply serves all requests beyond. A request that is tried again gets the same reply. It panics
// without a reply.
func InSteps(replies ...Reply) Script {
	return sequence(replies, func(r Request) int { return r.Step })
}

// InOrder answers requests one by one as they come to the server, whoever sends them; the last reply serves all requests
// beyond. It panics without a reply.
func InOrder(replies ...Reply) Script {
	return sequence(replies, func(r Request) int { return r.Number })
}

func sequence(replies []Reply, position func(Request) int) Script {
	if len(replies) == 0 {
		panic("messagesapi: sequence without a reply")
	}
	return func(r Request) Reply {
		return replies[min(position(r), len(replies))-1]
	}
}

// Split gives the requests of sub-agents to sub and all others to main.
func Split(main, sub Script) Script {
	return func(r Request) Reply {
		if r.IsSubAgent() {
			return sub(r)
		}
		return main(r)
	}
}
