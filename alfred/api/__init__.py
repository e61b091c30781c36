"""What domains answer through the server: a router each, which the domain names itself."""
