import { z } from 'zod'
import { apiSchema } from './api-schema.ts'

export const CHAIN_LIMIT_CHARS = 65_536

export const KEY_LIMIT_CHARS = 16_384

export const putCertificateBody = z.object({
  certificate_chain: z
    .string()
    .min(1)
    .max(CHAIN_LIMIT_CHARS)
    .describe('PEM: the certificate of the domain, then its chain; at most 10'),
  private_key: z
    .string()
    .min(1)
    .max(KEY_LIMIT_CHARS)
    .describe(
      'PEM, without a passphrase: RSA from 2048 bits, or ECDSA on P-256, P-384 or P-521. Kept encrypted',
    ),
})

const time = z.iso.datetime({ precision: 3 })

const certificateSchema = apiSchema(
  'Certificate',
  z.object({
    source: z.enum(['acme', 'own']).describe('`acme`: ordered by us; `own`: supplied by the owner'),
    names: z.array(z.string()).describe('Its DNS names'),
    issuer: z.string(),
    serial: z.string().describe('Serial number, hexadecimal'),
    fingerprint: z.string().describe('SHA-256 of the certificate'),
    key: z.string().describe('Type of its key, such as `EC prime256v1`'),
    not_before: time,
    not_after: time,
  }),
)

const orderSchema = apiSchema(
  'CertificateOrder',
  z.object({
    next_attempt_at: time
      .nullable()
      .describe('When the next certificate is ordered, if the operator has configured a CA'),
    failures: z.int().describe('Failed attempts in a row'),
    last_error: z.string().nullable().describe('Why the last one failed'),
    last_error_at: time.nullable(),
  }),
)

export const certificateViewSchema = z.object({
  domain: z.string(),
  certificate: certificateSchema.nullable().describe('null: none'),
  order: orderSchema,
})

export const deleteCertificateAnswer = z.object({ domain: z.string(), deleted: certificateSchema })
