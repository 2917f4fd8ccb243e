import type { Queryable } from '../db/transaction.ts'

/** What live traffic needs of a domain; it is found by its public name, by anybody who asks for it. */
export type HostedDomain = {
  id: number
  account_id: number
  custom_domain: string
  origin_url: string
  is_active: boolean
  settings: unknown
}

/** `host`: lower case, without a port. null: nobody registered it. */
export async function domainByHost(db: Queryable, host: string): Promise<HostedDomain | null> {
  const { rows } = await db.query<HostedDomain>({
    name: 'domain-by-host',
    text: `select id, account_id, custom_domain, origin_url, is_active, settings
             from domain where custom_domain = $1`,
    values: [host],
  })
  return rows[0] ?? null
}
