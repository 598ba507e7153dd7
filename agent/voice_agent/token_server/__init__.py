"""The token server: lets a caller into a call, and serves the page that they call from."""
