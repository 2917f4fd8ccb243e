import { z } from 'zod'
import { PAGE_VARIANTS } from '../page/page-id.ts'
import { emailSchema } from './account.ts'
import { apiSchema } from './api-schema.ts'

/** `dead`: three beats missed. */
export const NODE_STATES = ['serving', 'draining', 'dead'] as const

export const BROWSER_STATES = ['ok', 'broken', 'none'] as const

const accountSchema = apiSchema(
  'Account',
  z.object({
    id: z.int(),
    name: z.string(),
    email: z.string().describe('Contact address'),
    plan: z.string(),
    created_at: z.string(),
  }),
)

export const accountInListSchema = apiSchema(
  'AccountInList',
  z.object({
    ...accountSchema.shape,
    can_sign_in: z.boolean().describe('A member has a password, or has signed in by single sign-on'),
    suspended: z.boolean(),
    members: z.int(),
    domains: z.int(),
    renders_used: z.int().describe('Of all its domains in the current UTC month'),
  }),
)

const createdLinkSchema = apiSchema(
  'CreatedLink',
  z.object({
    token: z.string().describe('Goes after the `#` of `/welcome`'),
    url: z.string().describe('For the owner of the account; works once'),
    expires_at: z.string(),
  }),
)

export const mailSchema = z
  .enum(['sent', 'failed', 'off'])
  .describe('Whether the link was also sent by e-mail; `off`: e-mail is not configured')

export const accountInvitationParams = z.object({ id: z.string().describe('Id of the invitation') })

export const accountParams = z.object({ id: z.string().describe('Id of the account') })

export const listAccountsAnswer = z.object({
  accounts: z.array(accountInListSchema),
  plans: z.array(z.string()),
})

export const updateAccountBody = z.object({
  plan: z.string().optional(),
  suspended: z.boolean().optional(),
})

export const updateAccountAnswer = z.object({ account: accountSchema })

const invitedRoleSchema = z
  .enum(['owner', 'operator'])
  .describe('`operator`: may see and change all accounts')

export const inviteBody = z.object({
  email: emailSchema,
  plan: z.string(),
  name: z.string().optional().describe('Of the account; default: the address'),
  role: invitedRoleSchema.optional(),
})

const accountInvitationSchema = apiSchema(
  'AccountInvitation',
  z.object({
    id: z.int(),
    email: z.string(),
    name: z.string().describe('Of the account'),
    plan: z.string(),
    role: invitedRoleSchema,
    state: z.enum(['waiting', 'expired']),
    created_at: z.string(),
    expires_at: z.string(),
    invited_by: z.string(),
  }),
)

export const inviteAnswer = z.object({
  invitation: accountInvitationSchema,
  link: createdLinkSchema,
  mail: mailSchema,
})

export const listAccountInvitationsAnswer = z.object({ invitations: z.array(accountInvitationSchema) })

export const personInListSchema = apiSchema(
  'PersonInList',
  z.object({
    id: z.int(),
    email: z.string(),
    name: z.string().nullable(),
    is_operator: z.boolean(),
    can_sign_in: z.boolean().describe('A password is set, or it has signed in by single sign-on'),
    accounts: z.int(),
    created_at: z.string(),
  }),
)

export const listPersonsAnswer = z.object({ persons: z.array(personInListSchema) })

export const personParams = z.object({ id: z.string().describe('Id of the person') })

export const updatePersonByOperatorBody = z.object({ is_operator: z.boolean() })

export const updatePersonByOperatorAnswer = z.object({ person: personInListSchema })

export const createResetLinkAnswer = z.object({ link: createdLinkSchema, mail: mailSchema })

const priority = z.enum(['live', 'refresh', 'warm'])

export const fleetQueueSchema = apiSchema(
  'FleetQueue',
  z.object({
    priorities: z.array(
      z.object({
        priority,
        queued: z.int().describe('At most 100,000 are counted'),
        oldest_seconds: z.number().describe('Wait of the first job'),
      }),
    ),
    running: z
      .array(
        z.object({
          jobId: z.string(),
          domain: z.string(),
          path: z.string().describe('Without its query'),
          variant: z.enum(PAGE_VARIANTS).nullable().describe('null: a job of both variants'),
          priority,
          node: z.string().describe('As in the list of nodes'),
          running_seconds: z.number(),
          attempts: z.int(),
        }),
      )
      .describe('At most 200, longest running first'),
    waiting: z
      .array(z.object({ domain: z.string(), priority, queued: z.int(), waiting_seconds: z.number() }))
      .describe('The 20 domains with the longest wait'),
    tasks: z
      .array(
        z.object({
          kind: z.string(),
          waiting: z.int().describe('Due, and no node works on them yet'),
          running: z.int(),
          failing: z.int().describe('Their last run failed, or its node died'),
          oldest_seconds: z.number().describe('Wait of the oldest due task; 0: none waits'),
        }),
      )
      .describe('Background work beside the renders, by kind'),
  }),
)

export const fleetFailuresSchema = apiSchema(
  'FleetFailures',
  z.object({
    since: z.string().nullable().describe('Time of the oldest render in the sample; null: there were none'),
    renders: z.int().describe('Size of the sample: at most the last 20,000'),
    failed: z.int(),
    groups: z
      .array(
        z.object({
          outcome: z.string(),
          domain: z.string(),
          account: z.string().describe('E-mail of the owner'),
          failed: z.int(),
          last_at: z.string(),
        }),
      )
      .describe('Most frequent first, at most 100'),
    last: z
      .array(
        z.object({
          outcome: z.string(),
          reason: z.string().nullable(),
          domain: z.string(),
          path: z.string().describe('Without its query'),
          ended_at: z.string(),
        }),
      )
      .describe('Newest first, at most 50'),
  }),
)

export const cancelJobParams = z.object({ jobId: z.string() })

const fleetNodeSchema = apiSchema(
  'FleetNode',
  z.object({
    id: z.string().describe('Changes with each restart'),
    host: z.string(),
    api_port: z.int().nullable().describe('Port of its API, or of `/readyz`; null: not listening yet'),
    version: z.string(),
    roles: z.array(z.string()).describe('Some of `edge`, `api`, `render`'),
    state: z.enum(NODE_STATES).describe('`draining`: shutting down; `dead`: no heartbeat for 15 seconds'),
    started_at: z.string(),
    seen_at: z.string().describe('Last heartbeat, by the clock of the database'),
    slots: z.int().describe('Render slots; 0: it does not render'),
    running: z.int().describe('Running jobs'),
    cores: z.int(),
    load: z.number().describe('Load average of its machine over one minute'),
    memory_bytes: z.int().describe('PSS: node, browsers and private PostgreSQL; what they share counts once'),
    browser: z.enum(BROWSER_STATES).describe('`none`: this node does not render'),
    browsers: z
      .int()
      .describe('Running browsers: two while one replaces another, none after ten minutes without a render'),
    browsers_started: z
      .int()
      .describe(
        'Since the node started: the first one, replacements for age or after a crash, and one after each idle time',
      ),
    schema: z.string().describe('Its last known migration'),
  }),
)

export const fleetSchema = apiSchema(
  'Fleet',
  z.object({
    schema: z.string().describe('The last migration of the database; nodes with an earlier one are older'),
    nodes: z.array(fleetNodeSchema).describe('By host; dead nodes are listed for 10 minutes'),
  }),
)
