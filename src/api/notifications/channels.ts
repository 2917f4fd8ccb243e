import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { escaped } from '../../notifications/delivery/letters.ts'
import { confirm, recipientOf, unsubscribe } from '../../notifications/delivery/links.ts'
import { listRecipients, RECIPIENTS_LIMIT, setRecipients } from '../../notifications/delivery/recipients.ts'
import { mondayOf, readReport, weekOf } from '../../notifications/delivery/report.ts'
import { callerOf } from '../http/access.ts'
import { type ApiApp, type ApiDeps, apiSchema } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { kindSchema } from './incidents.ts'

export const channelsSchema = apiSchema(
  'Notifications',
  z.object({
    emails: z.array(
      z.object({
        email: z.string(),
        kinds: z.array(kindSchema).describe('Kinds of incidents that it is told of'),
        weekly_report: z.boolean(),
        state: z
          .enum(['waiting', 'confirmed', 'unsubscribed', 'refused'])
          .describe('`waiting`: not confirmed yet; `refused`: the mail server refused the address'),
      }),
    ),
    by_mail: z.boolean().describe('false: the operator has configured no mail server'),
  }),
)

const bodySchema = z.object({
  emails: z
    .array(
      z.object({
        email: z.string(),
        kinds: z.array(kindSchema).optional().describe('Default: all'),
        weekly_report: z.boolean().optional(),
      }),
    )
    .max(RECIPIENTS_LIMIT),
})

export const reportSchema = apiSchema(
  'Report',
  z.object({
    week: z.string().describe('ISO 8601, Monday to Sunday in UTC'),
    from: z.string(),
    to: z.string(),
    visits: z.number().describe('Requests of crawlers'),
    visits_before: z.number().describe('The same, of the week before'),
    hit_ratio: z.number().nullable(),
    renders: z.number(),
    crawlers: z.array(z.object({ crawler: z.string(), visits: z.number() })).describe('At most 10'),
    domains: z
      .array(
        z.object({
          domain: z.string(),
          visits: z.number(),
          hit_ratio: z.number().nullable(),
          renders: z.number(),
          pages_failing: z.int().describe('Pages whose last render failed in this week'),
          incidents: z.int(),
          deploys: z.int(),
        }),
      )
      .describe('At most 50, those with the most requests'),
  }),
)

const TAGS = ['Notifications']
const WEEK_MS = 7 * 86_400_000

export function channels(app: ApiApp, deps: ApiDeps): void {
  const { pool, vault, clock } = deps
  const by_mail = deps.mailer !== undefined

  app.route({
    method: 'GET',
    url: '/api/notifications',
    config: { access: 'key' },
    schema: {
      operationId: 'getNotifications',
      tags: TAGS,
      summary: 'Who is told by e-mail, and of what',
      response: { 200: jsonResponse('The addresses', channelsSchema) },
    },
    handler: async (request) => ({ emails: await listRecipients(pool, callerOf(request).account), by_mail }),
  })

  app.route({
    method: 'PUT',
    url: '/api/notifications',
    config: { access: 'key' },
    schema: {
      operationId: 'putNotifications',
      tags: TAGS,
      summary: 'Replace the list of addresses; new ones get a link to confirm',
      description:
        'At most 3 links for each address and 20 for each account are sent in 24 hours. Unsubscribed addresses get a link again.',
      body: bodySchema,
      response: { 200: jsonResponse('The addresses', channelsSchema) },
    },
    handler: async (request) => ({
      emails: await setRecipients(pool, callerOf(request).account, request.body.emails),
      by_mail,
    }),
  })

  app.route({
    method: 'POST',
    url: '/api/notifications/confirm',
    config: { access: 'open', refuses: ['link_not_found'] },
    schema: {
      operationId: 'confirmAddress',
      tags: TAGS,
      summary: 'Confirm an address with the link of the e-mail',
      body: z.object({ token: z.string().min(1).max(200).describe('The part of the link after `#`') }),
      response: { 200: jsonResponse('The address', z.object({ email: z.string() })) },
    },
    handler: async (request) => {
      const email = await confirm(pool, vault, request.body.token)
      if (email === null) throw new AppError('link_not_found')
      return { email }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/report',
    config: { access: 'key' },
    schema: {
      operationId: 'getReport',
      tags: TAGS,
      summary: 'The report of one week',
      querystring: z.object({
        week: z.string().optional().describe('Such as `2026-W47`; default: the last whole week'),
      }),
      response: { 200: jsonResponse('The report', z.object({ report: reportSchema })) },
    },
    handler: async (request) => {
      const monday = mondayOf(request.query.week ?? weekOf(clock.nowMs() - WEEK_MS))
      if (monday === null)
        throw new AppError('invalid_field', { word: 'week must be a week such as 2026-W47' })
      return { report: await readReport(pool, callerOf(request).account, monday) }
    },
  })

  unsubscribePages(app, deps)
}

const PAGE_POLICY = "default-src 'none'; form-action 'self'; frame-ancestors 'none'"

/** GET changes nothing, because mail programs open links; POST is RFC 8058's one click. */
function unsubscribePages(app: ApiApp, { pool, vault }: ApiDeps): void {
  app.register(async (pages) => {
    pages.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'buffer' },
      async () => undefined,
    )
    pages.addContentTypeParser(/^multipart\/form-data/, { parseAs: 'buffer' }, async () => undefined)
    const options = {
      url: '/unsubscribe/:token',
      config: { access: 'open' },
      schema: { hide: true },
    } as const
    pages.route<{ Params: { token: string } }>({
      ...options,
      method: 'GET',
      handler: async (request, reply) => {
        if ((await recipientOf(pool, vault, request.params.token)) === null) throw new AppError('not_found')
        reply.header('Content-Security-Policy', PAGE_POLICY).type('text/html; charset=utf-8')
        return reply.send(
          page(
            'Stop all e-mails to this address?',
            '<form method="post"><button>Unsubscribe</button></form>',
          ),
        )
      },
    })
    pages.route<{ Params: { token: string } }>({
      ...options,
      method: 'POST',
      handler: async (request, reply) => {
        const email = await unsubscribe(pool, vault, request.params.token)
        if (email === null) throw new AppError('not_found')
        reply.header('Content-Security-Policy', PAGE_POLICY).type('text/html; charset=utf-8')
        return reply.send(page('Unsubscribed', `<p>${escaped(email)} gets no more e-mails of Prepaint.</p>`))
      },
    })
  })
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<h1>${title}</h1>
${body}
</html>
`
}
