import { z } from 'zod'

import { apiSchema } from './api-schema.ts'

const time = z.iso.datetime({ precision: 3 })

export const certificateSchema = apiSchema(
  'Certificate',
  z.object({
    source: z.enum(['acme', 'own']).describe('`acme`: ordered by us; `own`: supplied by the owner'),
    names: z.array(z.string()).describe('DNS names that it is for'),
    issuer: z.string(),
    serial: z.string().describe('Serial number, hexadecimal'),
    fingerprint: z.string().describe('SHA-256 of the certificate'),
    key: z.string().describe('Kind of its key, such as `EC prime256v1`'),
    not_before: time,
    not_after: time,
  }),
)

const orderSchema = apiSchema(
  'CertificateOrder',
  z.object({
    next_attempt_at: time
      .nullable()
      .describe('When the next certificate is looked for, where the operator has named a CA'),
    failures: z.int().describe('Attempts in a row that came to nothing'),
    last_error: z.string().nullable().describe('Why the last of them came to nothing'),
    last_error_at: time.nullable(),
  }),
)

export const certificateViewSchema = z.object({
  domain: z.string(),
  certificate: certificateSchema.nullable().describe('null: there is none'),
  order: orderSchema,
})
