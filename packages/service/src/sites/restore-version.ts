import type { AccountId } from '@prepaint/contract/ids.ts'
import type { DomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import type { Redirect } from '@prepaint/contract/site-files/redirects.ts'
import { replaceRedirects } from '@prepaint/pages/site-files/stored-redirects.ts'
import { listVersions, readVersion, type VersionWithContent } from '@prepaint/pages/site-files/versions.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { type Changer, domainRightsNow } from '../accounts/actor.ts'
import { updateDomain } from './domain-changes.ts'
import type { DomainView, OwnedDomain } from './domains.ts'

/** Puts a version into force and returns the one that this made; the current one makes none. */
export async function restoreVersion(
  pool: pg.Pool,
  {
    domain,
    author,
    by = null,
  }: { domain: OwnedDomain & { account: AccountId }; author: string; by?: Changer },
  id: number,
  view: DomainView,
): Promise<VersionWithContent> {
  const version = await readVersion(pool, domain.id, id)
  const { kind, content } = version
  if (kind === 'redirects') {
    const admit = (client: Queryable) =>
      domainRightsNow(client, domain.account, { by, domain: domain.id }, 'restoreVersion')
    await replaceRedirects(pool, domain, content as Redirect[], { author, admit })
  } else {
    const settings = (kind === 'robots' ? { robots: content } : content) as Partial<DomainSettings>
    await updateDomain(pool, domain.account, domain.name, { settings, author, by }, view)
  }
  const newest = (await listVersions(pool, domain.id, kind))[0] ?? version
  return { ...newest, content }
}
