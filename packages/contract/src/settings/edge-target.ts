/** Where the DNS records of domains lead: `host` is the name for a CNAME, null if there is none. */
export type EdgeTarget = { host: string | null; addresses: string[] }
