"""Public feature maps: from rows to rows, one record at a time, fixed before there is data."""
