"""Files of resources: Bundles and NDJSON in, NDJSON and Bundles out, bytes kept."""
