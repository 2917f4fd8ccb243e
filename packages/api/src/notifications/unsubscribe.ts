import { AppError } from '@prepaint/contract/errors.ts'
import { readLink, unsubscribe } from '@prepaint/service/notifications/delivery/addresses.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { escapeHtml, htmlPage, pageStyle } from '../service/static-page.ts'

/** GET changes nothing, because mail programs open links; POST is RFC 8058's one click. */
export function unsubscribePage(app: ApiApp, { pool, vault }: ApiParts): void {
  const { style, policy } = pageStyle()
  app.register(async (page) => {
    // What the form says is not read.
    page.removeAllContentTypeParsers()
    page.addContentTypeParser('*', { parseAs: 'buffer' }, async () => undefined)
    page.route<{ Params: { token: string } }>({
      method: ['GET', 'POST'],
      url: '/unsubscribe/:token',
      config: { access: 'open' },
      schema: { hide: true },
      handler: async ({ method, params: { token } }, reply) => {
        const link = await readLink(pool, vault, token)
        if (link?.round !== 0) throw new AppError('not_found')
        const email = method === 'POST' ? await unsubscribe(pool, link.address) : null
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
  })
}
