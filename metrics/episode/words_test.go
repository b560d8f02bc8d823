package episode

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTerms(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"Fix the LOGIN page of this project", "fix login page project"},
		{"parseHTTPRequest", "parsehttprequest parse http request"},
		{"retry_count=3", "retry_count retry count 3"},
		{"MAX_RETRIES __init__", "max_retry max retry init"},
		{"sha256Sum utf8", "sha256sum sha256 sum utf8"},
		{"don't use the user's 'quoted' names", "use user quoted name"},
		{"tests queries query classes boxes analysis bus", "test query query class box analysis bus"},
		{"caches cache branches branch cookies cookie ties dns", "cach cach branch branch cooky cooky tie dns"},
		{"Größe ÉTÉ naïve", "größe été naïve"},
		{"е\u0301лка", "елка"},
		{"数据库迁移 ok 数据", "数据库迁移 数据 据库 库迁 迁移 ok 数据"},
		{"a b c I x", "b c x"},
		{strings.Repeat("x", 65) + " end", "end"},
		{"\xff\xfe broken \x00 bytes", "broken byte"},
		{"", ""},
		{"... ___ ''", ""},
		{"isDone to_do", "isdone done to_do"},
	}
	for _, tt := range tests {
		got := []string{}
		termsOf(tt.text, nil, func(term []byte) { got = append(got, string(term)) })
		if diff := cmp.Diff(strings.Fields(tt.want), got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

// Terms are short and whole, whatever the text is.
func FuzzTerms(f *testing.F) {
	for _, s := range []string{"parseHTTPRequest v2", "don’t_doIt", "数据库a迁移", "ẞİǅ ʼn", "__x__Y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		termsOf(s, nil, func(term []byte) {
			if len(term) == 0 || len(term) > maxTerm || !utf8.Valid(term) || slices.Contains(term, ' ') {
				t.Fatalf("%q gives %q", s, term)
			}
		})
	})
}
