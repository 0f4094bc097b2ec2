"""The referee: random questions to other accountants, judged by brackets that are attained."""
