"""The addresses of the API, one noun a file."""
