import { z } from 'zod'
import { ROLES } from '../roles.ts'
import { emailSchema, personSchema, roleSchema, SIGN_IN_WAYS } from './account.ts'
import { apiSchema } from './api-schema.ts'

/** As the API lists them, the highest first. */
const ROLE_NAMES = ROLES.toReversed().join(', ')

const givenRoleSchema = z.enum(ROLES, { error: `must be one of ${ROLE_NAMES}` })

const DOMAINS_LIMIT = 1_000

const givenDomainsSchema = z
  .array(z.string())
  .max(DOMAINS_LIMIT)
  .nullish()
  .describe('For editor, viewer and client: names of the domains that they are limited to; null: all')

const domainsSchema = z
  .array(z.string())
  .nullable()
  .describe('Names of the domains that the member is limited to; null: all')

export const memberSchema = apiSchema(
  'Member',
  z.object({
    id: z.int(),
    email: z.string(),
    name: z.string().nullable(),
    role: roleSchema,
    domains: domainsSchema,
    second_factor: z.boolean().nullable().describe('null: only admins and owners see it'),
    ways: z
      .array(z.enum(SIGN_IN_WAYS))
      .nullable()
      .describe('How the member can sign in; null: as `second_factor`'),
    last_seen_at: z.string().nullable().describe('In this account; null: never, or as `second_factor`'),
    joined_at: z.string(),
    you: z.boolean(),
  }),
)

export type MemberView = z.infer<typeof memberSchema>

export const listMembersAnswer = z.object({ members: z.array(memberSchema) })

export const memberParams = z.object({ id: z.string().describe('The `id` in the list') })

export const updateMemberBody = z.object({ role: givenRoleSchema.optional(), domains: givenDomainsSchema })

export const memberAnswer = z.object({ member: memberSchema })

export const removeMemberQuery = z.object({
  revoke_keys: z
    .enum(['true', 'false'])
    .optional()
    .describe(
      '`true`: also revoke the API keys and share links that the member made. Tokens of domains stay',
    ),
})

export const removedMemberAnswer = z.object({ deleted: z.object({ id: z.int(), email: z.string() }) })

export const endSessionsOfMemberAnswer = z.object({ ended: z.int() })

export const transferAccountBody = z.object({ member_id: z.int() })

export const transferAccountAnswer = z.object({ member: memberSchema, you: memberSchema })

export const invitationSchema = apiSchema(
  'Invitation',
  z.object({
    id: z.int(),
    email: z.string(),
    role: roleSchema,
    domains: domainsSchema,
    state: z.enum(['waiting', 'expired']),
    created_at: z.string(),
    expires_at: z.string(),
    invited_by: z.string(),
  }),
)

export type InvitationView = z.infer<typeof invitationSchema>

export const listInvitationsAnswer = z.object({ invitations: z.array(invitationSchema) })

export const inviteMemberBody = z.object({
  email: emailSchema,
  role: givenRoleSchema,
  domains: givenDomainsSchema,
})

export const inviteMemberAnswer = z.object({
  invitation: invitationSchema,
  link: z
    .object({ token: z.string(), url: z.string() })
    .nullable()
    .describe('Shown only once; null: e-mail is configured, so only the letter has it'),
  mail: z.enum(['sent', 'failed', 'off']).describe('`off`: e-mail is not configured'),
})

export const revokedInvitationAnswer = z.object({ deleted: z.object({ id: z.int(), email: z.string() }) })

export const enteredAccountSchema = apiSchema(
  'EnteredAccount',
  z.object({
    id: z.int(),
    name: z.string(),
    role: roleSchema,
    plan: z.string(),
    domains: z.int().describe('How many the member may see'),
    current: z.boolean().describe('The account of this request'),
  }),
)

export const listEnteredAccountsAnswer = z.object({ accounts: z.array(enteredAccountSchema) })

export const chooseAccountBody = z.object({ id: z.int().min(1).max(2_147_483_647) })

const NAME_LIMIT_CHARS = 80

export const updatePersonBody = z.object({
  name: z
    .string()
    .trim()
    .max(NAME_LIMIT_CHARS)
    .regex(/^[^\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]*$/u, {
      error: 'must not contain control or direction characters',
    })
    .nullish(),
  locale: z
    .string()
    .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/, { error: 'must be a language such as en or pt-BR' })
    .nullish(),
})

export const personAnswer = z.object({ person: personSchema })
