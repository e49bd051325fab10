"""What becomes of a body before it is stored: HAPI's parser, and validation."""
