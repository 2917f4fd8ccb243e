import type { IntegrationCheck } from '@prepaint/contract/api/fronts.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { type AddressGuard, checkOriginUrl, createAddressGuard } from '@prepaint/outbound'
import { checkIntegration } from '@prepaint/service/fronts/check-integration.ts'
import { readIntegration } from '@prepaint/service/fronts/read-integration.ts'
import { type Commands, defineCommand, UsageError } from '../command-line/command.ts'
import { DOMAIN_OPTION, withDomain } from '../command-line/options.ts'
import { fields } from '../command-line/output.ts'

const DNS_TIMEOUT_MS = 5_000

const integrationShow = defineCommand({
  options: { domain: DOMAIN_OPTION },
  async run(values, around) {
    const found = await withDomain(values.domain, around, (domain, { pool, nowMs }) =>
      readIntegration(pool, domain, nowMs),
    )
    const lines: [string, string][] = [
      ['domain', found.domain],
      ['state', found.state],
    ]
    for (const [way, seen] of Object.entries(found.ways)) {
      if (seen === null) lines.push([way, 'never seen'])
      else {
        const front =
          seen.int_type === null ? '' : ` from ${seen.int_type} ${seen.int_version ?? ''}`.trimEnd()
        lines.push([
          way,
          `last ${seen.last_at}, ${seen.crawler} asked for ${seen.path}${front}; ${seen.visits_24h} in 24 h`,
        ])
      }
    }
    const { refused, check } = found
    if (refused !== null)
      lines.push(['refused', `${refused.count} in 24 h, last ${refused.last_at}: ${refused.reason}`])
    if (check !== null) lines.push(['last check', `${check.checked_at}: ${checkWords(check)}`])
    return { json: found, text: fields(lines) }
  },
})

const integrationCheck = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    path: { value: 'P', text: 'the page to ask for, default /' },
    via: { value: 'URL', text: 'where to connect instead of the DNS, for a site that is not live yet' },
  },
  async run(values, around) {
    const path = values.path ?? '/'
    if (!path.startsWith('/')) throw new UsageError(`--path must begin with /, got "${path}"`)
    const guard = createAddressGuard(around.config.allowedPrivateOrigins)
    const via = values.via === null ? null : await checkedVia(values.via, guard)
    const check = await withDomain(values.domain, around, (domain, { pool, nowMs }) =>
      checkIntegration(pool, guard, domain, { path, via }, nowMs),
    )
    return { json: { check }, text: checkWords(check), exitCode: check.state === 'not_seen' ? 1 : 0 }
  },
})

async function checkedVia(raw: string, guard: AddressGuard): Promise<string> {
  const checked = await checkOriginUrl(raw, guard, { timeoutMs: DNS_TIMEOUT_MS })
  if (!checked.ok) throw new AppError('invalid_via', { word: checked.reason })
  return checked.originUrl
}

const REASONS: Record<NonNullable<IntegrationCheck['reason']>, string> = {
  'answer-lost':
    'the request arrived, but another answer came back: a cache between, or the front did not wait',
  refused: "the request arrived and was refused: check the front's key",
  'not-forwarded': 'the site answered itself: its front did not send the crawler here',
  unresolvable: 'the name has no address in the DNS',
  'refused-address': 'the name leads to an address that is not public',
  unreachable: 'the site does not accept connections',
  tls: 'the certificate of the site is not good for its name',
  'timed-out': 'the site did not answer in 10 seconds',
  redirect: 'the site redirects to another place',
}

function checkWords({ state, reason, detail }: IntegrationCheck): string {
  if (reason === null) return state
  return `${state}: ${REASONS[reason]}${detail === null ? '' : ` (${detail})`}`
}

export const commands: Commands = {
  'integration show': integrationShow,
  'integration check': integrationCheck,
}
