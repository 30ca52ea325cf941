"""How torch code becomes a record: below torch's dispatcher, on tensors without data."""
