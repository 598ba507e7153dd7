"""Audio in and out of files and wires: decode, encode, resample."""
