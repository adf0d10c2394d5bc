"""Who signs the certificates of the fake web? A throw-away authority in a folder, made with the openssl command.

`ca.pem` in the folder is what a client has to trust; `ca.key` and one certificate per host lie beside it.
"""

from __future__ import annotations

import hashlib
import ssl
import subprocess
from pathlib import Path

from cobnut.errors import MachineError

_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Authority:
    """A certificate authority that lives in `folder`; it is made there when it does not exist yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca_file = folder / "ca.pem"
        self._contexts: dict[str, ssl.SSLContext] = {}
        folder.mkdir(parents=True, exist_ok=True)
        if not self.ca_file.exists():
            key, out = str(folder / "ca.key"), str(self.ca_file)
            _openssl(
                "req", "-x509", *_NEW_KEY, "-days", "3650", "-subj", "/CN=fake web CA", "-keyout", key, "-out", out
            )

    def context(self, host: str) -> ssl.SSLContext:
        """A server context with a certificate for `host`."""
        if host not in self._contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self._certificate(host))
            self._contexts[host] = context
        return self._contexts[host]

    def _certificate(self, host: str) -> tuple[Path, Path]:
        """The files of a host's certificate and key, made on first use."""
        serial = hashlib.sha1(host.encode(), usedforsecurity=False).hexdigest()[:16]
        key, request, names, certificate = (
            self.folder / f"{serial}.{ending}" for ending in ("key", "csr", "ext", "pem")
        )
        if not certificate.exists():
            bare = host.strip("[]")
            kind = "IP" if ":" in bare or bare.replace(".", "").isdecimal() else "DNS"
            names.write_text(f"subjectAltName={kind}:{bare}\n")
            _openssl("req", *_NEW_KEY, "-subj", "/CN=fake web", "-keyout", str(key), "-out", str(request))
            _openssl(
                "x509", "-req", "-in", str(request), "-CA", str(self.ca_file), "-CAkey", str(self.folder / "ca.key"),
                "-set_serial", str(int(serial, 16)), "-days", "3650", "-extfile", str(names), "-out", str(certificate),
            )  # fmt: skip
        return certificate, key

    def by_name(self) -> ssl.SSLContext:
        """A context that presents the certificate of whichever host the client names (SNI); else that of 127.0.0.1."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self._certificate("127.0.0.1"))

        def choose(connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
            if name:
                connection.context = self.context(name.lower())

        context.sni_callback = choose
        return context


def _openssl(*arguments: str) -> None:
    try:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)
    except FileNotFoundError as error:
        raise MachineError("no openssl command", remedy="install the package openssl") from error
