package forecast

import "strings"

// PricesAsOf is when the price list was last looked at.
const PricesAsOf = "October 2026"

// Price is the list price of a family of models, in US dollars for a million tokens.
type Price struct {
	Family     string  // part of the model's name
	Input      float64 // not cached
	Output     float64
	CacheWrite float64 // kept for five minutes
	CacheRead  float64
}

// Prices are list prices of the API as published by Anthropic, as of PricesAsOf. They
// are of use only until a run has been measured: what the CLI says that a session has
// cost always wins, here and in the ledgers. Prices change, and a subscription, a cloud
// or a contract has others. Where a price depends on the length of the prompt it is the
// higher one. The first row whose family is part of a model's name is that model's.
func Prices() []Price {
	return []Price{
		{"opus-5-5", 4, 20, 5, 0.20},
		{"opus-4-1", 15, 75, 18.75, 1.50},
		{"opus-4-0", 15, 75, 18.75, 1.50},
		{"opus-4-2025", 15, 75, 18.75, 1.50},
		{"opus", 5, 25, 6.25, 0.50},
		{"sonnet-5", 2, 10, 2.50, 0.20},
		{"sonnet", 3, 15, 3.75, 0.30},
		{"haiku-5", 0.50, 2.50, 0.625, 0.05},
		{"haiku", 1, 5, 1.25, 0.10},
		{"fable", 10, 50, 12.50, 1},
		{"mythos", 10, 50, 12.50, 1},
	}
}

// unknownModel is the family whose prices stand in for a model that is not in the list:
// what the CLI uses when nobody says otherwise, and not a cheap one.
const unknownModel = "opus"

// priceOf returns the price of a model and whether the list knows it.
func priceOf(model string) (Price, bool) {
	name := strings.ReplaceAll(strings.ToLower(model), ".", "-")
	var standIn Price
	for _, p := range Prices() {
		if strings.Contains(name, p.Family) {
			return p, true
		}
		if p.Family == unknownModel {
			standIn = p
		}
	}
	return standIn, false
}

// session is what tokens without cache reads cost together with the reads that go with
// them.
func (p Price) session(tokens float64) float64 {
	perToken := shareInput*p.Input + shareOutput*p.Output + shareCacheWrite*p.CacheWrite + cacheReads*p.CacheRead
	return tokens * perToken / 1e6
}
