import type pg from 'pg'
import { z } from 'zod'
import type { EdgeTarget } from '../../config.ts'
import { AppError } from '../../errors.ts'
import { parseDomainName } from '../../sites/domain-name.ts'
import { isTaken } from '../../sites/domains.ts'
import type { Checks } from '../../sites/reachability/checks.ts'
import { DNS_STATES } from '../../sites/reachability/dns-state.ts'
import { callerOf } from '../http/access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../http/answer.ts'
import type { ApiApp, CheckOrigin } from '../http/app.ts'
import { apiSchema } from '../http/app.ts'
import { domainNameOf, domainParams } from './domain-schema.ts'

const targetSchema = z
  .object({
    host: z.string().nullable().describe('For a CNAME or ALIAS'),
    addresses: z.array(z.string()).describe('For A and AAAA'),
  })
  .nullable()
  .describe('Where the DNS is to lead; null: the operator has not said it')

export const dnsStateSchema = apiSchema(
  'DnsState',
  z.object({
    domain: z.string(),
    state: z
      .enum(DNS_STATES)
      .describe(
        '`reaches-us`: asked under this name, this installation answers, at each address; `elsewhere`: another server does at one of them, or none at all; `no-record`: the name has no address; `not-checked`: the name servers gave no answer',
      ),
    addresses: z
      .array(z.string())
      .describe('Public ones that the name has, at most 8; where only some lead here, those that do not'),
    aliases: z.array(z.string()).describe('What it is another name for'),
    checked_at: z.string(),
    target: targetSchema,
  }),
)

export const domainCheckSchema = apiSchema(
  'DomainCheck',
  z.object({
    custom_domain: z
      .object({
        name: z.string().nullable().describe('As it would be stored; null: it is none'),
        problem: z.string().nullable().describe('Why it could not be registered; null: it could'),
      })
      .nullable(),
    origin_url: z
      .object({
        url: z.string().nullable().describe('As it would be stored; null: it cannot be an origin'),
        problem: z.string().nullable(),
        status: z.int().nullable().describe('With which it answers at `/`; null: it does not answer'),
        warning: z.string().nullable().describe('Why it does not answer; it may be registered all the same'),
      })
      .nullable(),
    target: targetSchema,
  }),
)

type Deps = { pool: pg.Pool; checks?: Checks; checkOrigin: CheckOrigin }

/** What an owner looks at while he sets up a domain: his names, his origin, his DNS. */
export function domainDns(
  app: ApiApp,
  deps: Deps,
  { edgeTarget: target = null }: { edgeTarget?: EdgeTarget | null },
): void {
  const checks = () => {
    if (deps.checks === undefined) throw new AppError('not_ready')
    return deps.checks
  }

  app.route({
    method: 'GET',
    url: '/api/domains/:domain/dns',
    config: { access: 'key' },
    schema: {
      operationId: 'getDns',
      tags: ['Domains'],
      summary: 'Where the name of a domain leads at this moment',
      description:
        'The name is asked as a visitor would ask it. What was found is kept for a minute, or for ten seconds when it does not lead here; an account may have 60 checks a minute.',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: {
        200: answer('Where it leads', dnsStateSchema),
        ...refusals(...KEY_REFUSALS, 'domain_not_found', 'too_many_checks', 'not_ready'),
      },
    },
    handler: async (request) => {
      const domain = domainNameOf(request.params.domain)
      const found = await checks().dns(callerOf(request).account, domain)
      if (found === null) throw new AppError('domain_not_found')
      return { domain, ...found, target }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/domains/check',
    config: { access: 'key' },
    schema: {
      operationId: 'checkDomain',
      tags: ['Domains'],
      summary: 'What would be wrong with a new domain: its name, its origin; registers nothing',
      security: [{ ApiKey: [] }],
      body: z.object({ custom_domain: z.string().optional(), origin_url: z.string().optional() }),
      response: {
        200: answer('What was found of the fields that were given', domainCheckSchema),
        ...refusals(...KEY_REFUSALS, ...BODY_REFUSALS, 'invalid_field', 'too_many_checks', 'not_ready'),
      },
    },
    handler: async (request) => {
      const { custom_domain: name, origin_url: origin } = request.body
      const { account } = callerOf(request)
      await checks().count(account)
      return {
        custom_domain: name === undefined ? null : await checkedName(name),
        origin_url: origin === undefined ? null : await checkedOrigin(account, origin),
        target,
      }
    },
  })

  async function checkedName(raw: string) {
    const parsed = parseDomainName(raw)
    if (!parsed.ok) return { name: null, problem: parsed.reason }
    // Nothing that an attempt to register it would not tell.
    const problem = (await isTaken(deps.pool, parsed.name)) ? 'is already registered' : null
    return { name: parsed.name, problem }
  }

  async function checkedOrigin(account: Parameters<Checks['origin']>[0], raw: string) {
    const checked = await deps.checkOrigin(raw)
    if (!checked.ok) return { url: null, problem: checked.reason, status: null, warning: null }
    const { status, problem } = await checks().origin(account, checked.originUrl)
    return { url: checked.originUrl, problem: null, status, warning: problem }
  }
}
