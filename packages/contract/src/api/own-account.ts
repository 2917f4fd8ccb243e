import { z } from 'zod'
import { apiSchema } from './api-schema.ts'

const deletionSchema = z.object({ requested_at: z.string(), deletes_at: z.string() })

const ownAccountSchema = apiSchema(
  'OwnAccount',
  z.object({
    id: z.int(),
    name: z.string(),
    email: z.string().describe('The contact address'),
    plan: z.string(),
    created_at: z.string(),
    policy: z.object({
      second_factor: z.enum(['optional', 'required']),
      session_hours: z.int().nullable(),
    }),
    deletion: deletionSchema.nullable().describe('When everything of the account is deleted; null: it stays'),
  }),
)

export type OwnAccountView = z.infer<typeof ownAccountSchema>

export const ownAccountAnswer = z.object({ account: ownAccountSchema })

export const changeAccountBody = z.object({
  name: z.string().optional(),
  email: z.string().optional().describe('Only owners change the contact address'),
})

export const requestDeletionBody = z.object({
  name: z.string().describe('The name of the account, as a check'),
})

export const deletionAnswer = z.object({ deletion: deletionSchema })

export const cancelledDeletionAnswer = z.object({ deletion: z.null() })

export const deletedPersonAnswer = z.object({ deleted: z.object({ id: z.int(), email: z.string() }) })
