//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// mcpVar makes the test binary an MCP server that does not want to end.
const mcpVar = "AUTOPILOT_E2E_MCP_SERVER"

// serveMCP answers what a client asks at the start, over stdin and stdout, and
// ignores every request to end: interrupt, terminate, hang-up, end of input. It
// does not return.
func serveMCP() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &call) != nil || call.ID == nil {
			continue
		}
		answer := `"error":{"code":-32601,"message":"method not found"}`
		switch call.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"stubborn","version":"1"}}`
			_ = os.WriteFile(os.Getenv(mcpVar), nil, 0o600) // the file that the variable names
		case "tools/list":
			answer = `"result":{"tools":[]}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", call.ID, answer)
	}
	for {
		time.Sleep(time.Hour)
	}
}
