package azure

import "testing"

func TestMarkup(t *testing.T) {
	t.Parallel()
	for md, want := range map[string]string{
		"# A & B\ntext **b** `c<d`\nmore":         "<h4>A &amp; B</h4>\n<p>text <b>b</b> <code>c&lt;d</code><br>more</p>\n",
		"- one\n  - two\n1. three":                "<ul>\n<li>one</li>\n<li>&nbsp;&nbsp;&nbsp;two</li>\n</ul>\n<ol>\n<li>three</li>\n</ol>\n",
		"```\n<script>\n```\n> q\n\n---":          "<pre>&lt;script&gt;</pre>\n<blockquote>q</blockquote>\n<hr>\n",
		"[t](https://e.com/?a=1&b='x')":           `<p><a href="https://e.com/?a=1&amp;b=&#39;x&#39;">t</a></p>` + "\n",
		"<img src=x onerror=y> [a](javascript:b)": "<p>&lt;img src=x onerror=y&gt; [a](javascript:b)</p>\n",
		"": "",
	} {
		if got := markup(md); got != want {
			t.Errorf("markup(%q) =\n%q, want\n%q", md, got, want)
		}
	}
}
