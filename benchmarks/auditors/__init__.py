"""The benchmark of auditors: claims with a known truth, a protocol, and who plays it."""
