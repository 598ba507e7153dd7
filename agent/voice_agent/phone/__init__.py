"""The telephone from the operator's side: trunks, calls, campaigns, and what can be wrong."""
