"""The official R4 search parameters, compiled: what of a resource can be searched, and in which form."""
