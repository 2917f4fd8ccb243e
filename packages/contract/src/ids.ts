/** Branded identifiers, created by parsers or read from typed database rows. */
export type AccountId = number & { readonly brand: 'AccountId' }
export type DomainId = number & { readonly brand: 'DomainId' }
export type PersonId = number & { readonly brand: 'PersonId' }

/** What a caller may use of an account: all of its domains (`domains` is null), or those with these ids. */
export type Scope = { account: AccountId; domains: readonly DomainId[] | null }

export function wholeAccount(account: AccountId): Scope {
  return { account, domains: null }
}

/** A registered custom domain: lower case, ASCII (punycode), no port. */
export type DomainName = string & { readonly brand: 'DomainName' }

/** Normalized path and query of a page; see `packages/contract/src/page/path.ts`. */
export type PagePath = string & { readonly brand: 'PagePath' }

/** Opaque to clients. A UUID, so that PostgreSQL can index it compactly. */
export type JobId = string & { readonly brand: 'JobId' }

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function parseJobId(text: string): JobId | null {
  return UUID.test(text) ? (text as JobId) : null
}
