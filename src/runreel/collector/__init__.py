"""The collector: OTLP in, redacted, split and stored; then acknowledged."""
