"""`alfred` in a process that may also fetch from one server of its test: PORT ARGUMENT…"""

from __future__ import annotations

import sys

from alfred.app import Ports
from alfred.cli.entry import main
from alfred.inputs.address_guard import AddressGuard
from alfred.inputs.link_fetcher import LinkFetcher

if __name__ == "__main__":
    port = int(sys.argv.pop(1))
    main(Ports(fetch=LinkFetcher(guard=AddressGuard([("127.0.0.1", port)])).fetch))
