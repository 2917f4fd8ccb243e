import { z } from 'zod'
import { apiSchema } from './api-schema.ts'

/**
 * `reaches-us`: this fleet answers at every address that answers. `elsewhere`: another server answers, or none.
 * `no-record`: the name has no address. `not-checked`: the name servers did not answer in time.
 */
export const DNS_STATES = ['reaches-us', 'elsewhere', 'no-record', 'not-checked'] as const

const targetSchema = z
  .object({
    host: z.string().nullable().describe('For a CNAME or ALIAS'),
    addresses: z.array(z.string()).describe('For A and AAAA'),
  })
  .nullable()
  .describe('Where the DNS records must point; null: the operator has not configured it')

export const dnsStateSchema = apiSchema(
  'DnsState',
  z.object({
    domain: z.string(),
    state: z
      .enum(DNS_STATES)
      .describe(
        '`reaches-us`: every address of the name reaches this installation; `elsewhere`: at least one does not; `no-record`: the name has no address; `not-checked`: the name servers did not answer',
      ),
    addresses: z
      .array(z.string())
      .describe(
        'Public addresses of the name, at most 8. If only some of them reach this installation: the others',
      ),
    aliases: z.array(z.string()).describe('CNAMEs that it leads to'),
    checked_at: z.string(),
    target: targetSchema,
    edge_port: z
      .int()
      .nullable()
      .describe('HTTP port on which this node takes live traffic; null: it takes none'),
  }),
)

export const domainCheckSchema = apiSchema(
  'DomainCheck',
  z.object({
    custom_domain: z
      .object({
        name: z.string().nullable().describe('As it would be stored; null: not a valid name'),
        problem: z.string().nullable().describe('Why it cannot be registered; null: it can'),
      })
      .nullable(),
    origin_url: z
      .object({
        url: z.string().nullable().describe('As it would be stored; null: not allowed as an origin'),
        problem: z.string().nullable(),
        status: z.int().nullable().describe('Status of its response at `/`; null: it does not respond'),
        warning: z
          .string()
          .nullable()
          .describe('Why it does not respond, after "The server"; it can be registered anyway'),
      })
      .nullable(),
    target: targetSchema,
  }),
)

export const checkDomainBody = z.object({
  custom_domain: z.string().optional(),
  origin_url: z.string().optional(),
})

/** What the nodes know of the names of all domains, without looking. */
export const listDnsAnswer = z.object({
  domains: z.array(
    apiSchema(
      'DnsLook',
      z.object({
        domain: z.string(),
        state: z.enum(DNS_STATES),
        addresses: z.array(z.string()).describe('All A and AAAA records, public or not'),
        checked_at: z.string().nullable().describe('null: not yet'),
      }),
    ),
  ),
})

const DNS_CHECK_LIMIT = 50

export const checkDnsBody = z.object({ domains: z.array(z.string()).min(1).max(DNS_CHECK_LIMIT) })
