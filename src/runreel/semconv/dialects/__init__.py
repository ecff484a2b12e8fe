"""One file for each dialect of GenAI spans; `DIALECTS` is the order in which they are asked."""
