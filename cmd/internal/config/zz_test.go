package config
import ("testing";"time";"os";"go.yaml.in/yaml/v3";"bytes";"fmt")
func FuzzZ(f *testing.F){
 for _, s := range []string{"", "max-sessions: 3\n", "a: [b, {c: d}]\n","a: b: c", "- x", "? [a]\n: *b", "---\n---\n", "\ufeffclaude: x","\xff\xfea\x00", "a: |\n  b\n\tc","\r0"} { f.Add([]byte(s)) }
 f.Fuzz(func(t *testing.T, data []byte){
  d := make(chan int,1)
  go func(){ ParseFile("f", data, true); d<-1 }()
  select { case <-d: case <-time.After(2*time.Second): os.WriteFile("/tmp/lab/tables/hang", data, 0o600)
    d2 := make(chan int,1)
    go func(){ dec := yaml.NewDecoder(bytes.NewReader(data)); var n yaml.Node; err := dec.Decode(&n); os.WriteFile("/tmp/lab/tables/hang.err", []byte(fmt.Sprint(err)), 0o600); d2<-1}()
    select { case <-d2: case <-time.After(time.Second): }
    t.Fatalf("hang %q", data) }
 })
}
