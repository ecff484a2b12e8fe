"""The demonstration: a small real agent, a scripted model, and the walk from a run to its first divergence."""
