import type { ComponentType } from "react";

interface Messages {
  [name: string]: string | Messages;
}

/** What a domain adds to the client: pages of its own, and its names for things. */
export interface DomainPages {
  /** As `GET /me` lists it; also the namespace of its messages and the beginning of its paths. */
  name: string;
  /** The first is the entry of the main navigation, named by its message `nav`. */
  routes: readonly { path: string; page: ComponentType }[];
  messages: { zh: Messages; en: Messages };
}

const found = import.meta.glob<DomainPages>("./*/domain.ts", { eager: true, import: "domain" });

/** Every domain that has a folder here; the server says which of them are installed. */
export const domains: readonly DomainPages[] = Object.values(found);

/** Give the pages of the domains that a server has. */
export const installed = (names: readonly string[]): DomainPages[] =>
  domains.filter((domain) => names.includes(domain.name));
