import { z } from 'zod'
import { apiSchema } from './api-schema.ts'

/**
 * Of which domains a proof is asked (PREPAINT_DOMAIN_PROOF): of none; of those that another account had before and whose
 * name leads here, so that nobody takes over a forgotten DNS record; of all.
 */
export const PROOF_MODES = ['off', 'takeover', 'required'] as const

export type ProofMode = (typeof PROOF_MODES)[number]

export const PROOF_STATES = ['not-asked', 'asked', 'proven', 'lost'] as const

export const PROOF_METHODS = ['dns', 'file', 'meta', 'traffic', 'operator'] as const

const proofSchema = apiSchema(
  'DomainProof',
  z.object({
    state: z
      .enum(PROOF_STATES)
      .describe(
        '`asked`: the account must prove that the name is its own; `lost`: a proof that was there is there no more. The domain is served on',
      ),
    served: z
      .boolean()
      .describe('false: crawlers and visitors get the answer for an unknown host until the name is proven'),
    method: z
      .enum(PROOF_METHODS)
      .nullable()
      .describe(
        'How it was proven. `traffic`: it had live requests before proofs were asked for; `operator`: the operator vouches for it',
      ),
    checked_at: z.string().nullable(),
    deadline: z.string().nullable().describe('Served until then without a proof; null: no time is set'),
    error: z.string().nullable().describe('Why the last check found no proof'),
    records: z.object({
      dns: z.object({ name: z.string(), type: z.literal('TXT'), value: z.string() }),
      file: z.object({ url: z.string(), content: z.string() }),
      meta: z.object({ tag: z.string() }),
    }),
  }),
)

export type DomainProof = z.infer<typeof proofSchema>

export const proofAnswer = z.object({ proof: proofSchema })
