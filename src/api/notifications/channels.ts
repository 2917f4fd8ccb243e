import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { confirm, readLink, unsubscribe } from '../../notifications/delivery/links.ts'
import {
  listRecipients,
  recipientSchema,
  recipientsSchema,
  setRecipients,
} from '../../notifications/delivery/recipients.ts'
import { readReport, reportSchema } from '../../notifications/delivery/report.ts'
import { type ApiApp, type ApiDeps, apiSchema } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'
import { escapeHtml, htmlPage, pageStyle } from '../service/docs-page.ts'

export const channelsSchema = apiSchema(
  'Notifications',
  z.object({
    emails: z.array(recipientSchema),
    by_mail: z.boolean().describe('false: the operator has configured no mail server'),
  }),
)

const NO_WEEK = 'must be a week such as 2026-W47'

export function channels(app: ApiApp, deps: ApiDeps): void {
  const { pool, vault } = deps
  const add = accountRoutes(app, 'Notifications')
  const by_mail = deps.mailer !== undefined
  const response = { 200: jsonResponse('The addresses', channelsSchema) }

  add('GET', '/api/notifications', 'getNotifications', {
    summary: 'Who is told by e-mail, and of what',
    response,
    handler: async (account) => ({ emails: await listRecipients(pool, account), by_mail }),
  })

  add('PUT', '/api/notifications', 'putNotifications', {
    summary: 'Replace the list of addresses; new ones get a link to confirm',
    description:
      'At most 3 links for each address and 20 for each account are sent in 24 hours. Unsubscribed addresses get a link again.',
    body: z.object({ emails: recipientsSchema }),
    response,
    handler: async (account, { body }) => {
      return { emails: await setRecipients(pool, account, body.emails), by_mail }
    },
  })

  add('GET', '/api/report', 'getReport', {
    summary: 'The report of one week',
    query: z.object({
      week: z
        .string()
        .regex(/^\d{4}-W\d{2}$/, { error: NO_WEEK })
        .optional()
        .describe('Such as `2026-W47`; default: the last whole week'),
    }),
    response: { 200: jsonResponse('The report', z.object({ report: reportSchema })) },
    handler: async (account, { query }) => {
      const report = await readReport(pool, account, query.week ?? null)
      if (report === null) throw new AppError('invalid_field', { word: `week ${NO_WEEK}` })
      return { report }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/notifications/confirm',
    config: { access: 'open', refuses: ['link_not_found'] },
    schema: {
      ...{ operationId: 'confirmAddress', tags: ['Notifications'] },
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

  app.register(async (pages) => unsubscribePage(pages, deps))
}

/** GET changes nothing, because mail programs open links; POST is RFC 8058's one click. */
function unsubscribePage(app: ApiApp, { pool, vault }: ApiDeps): void {
  const { style, policy } = pageStyle()
  // What the form says is not read.
  for (const type of ['application/x-www-form-urlencoded', /^multipart\/form-data/]) {
    app.addContentTypeParser(type, { parseAs: 'buffer' }, async () => undefined)
  }
  app.route<{ Params: { token: string } }>({
    method: ['GET', 'POST'],
    url: '/unsubscribe/:token',
    config: { access: 'open' },
    schema: { hide: true },
    handler: async ({ method, params: { token } }, reply) => {
      const link = await readLink(pool, vault, token)
      if (link?.round !== 0) throw new AppError('not_found')
      const email = method === 'POST' ? await unsubscribe(pool, link.recipient) : null
      const title = email === null ? 'Stop all e-mails to this address?' : 'Unsubscribed'
      const body =
        email === null
          ? '<form method="post"><button>Unsubscribe</button></form>'
          : `<p>${escapeHtml(email)} gets no more e-mails of Prepaint.</p>`
      reply.type('text/html; charset=utf-8')
      reply.header('Content-Security-Policy', policy.replace("form-action 'none'", "form-action 'self'"))
      return reply.send(htmlPage(title, style, `<main>\n<h1>${title}</h1>\n${body}\n</main>`))
    },
  })
}
