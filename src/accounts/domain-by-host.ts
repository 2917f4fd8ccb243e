import type { Queryable } from '../db/transaction.ts'

/** What live traffic needs of a domain; it is found by its public name, by anybody who asks for it. */
export type HostedDomain = {
  id: number
  account_id: number
  custom_domain: string
  origin_url: string
  /** Neither switched off nor of a suspended account. */
  is_active: boolean
  settings: unknown
  /** Of its certificate, which may have ended already; null: there is none. */
  certificate_ends_at: Date | null
}

/** `host`: lower case, without a port. null: nobody registered it. */
export async function domainByHost(db: Queryable, host: string): Promise<HostedDomain | null> {
  const { rows } = await db.query<HostedDomain>({
    name: 'domain-by-host',
    text: `select d.id, d.account_id, d.custom_domain, d.origin_url, d.settings,
                  d.is_active and a.suspended_at is null as is_active,
                  c.not_after as certificate_ends_at
             from domain d join account a on a.id = d.account_id
             left join certificate c on c.domain_id = d.id
            where d.custom_domain = $1`,
    values: [host],
  })
  return rows[0] ?? null
}
