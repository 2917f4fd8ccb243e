import type { SignIn } from '../../accounts/sign-in.ts'
import { emptyAnswer, refusals, SESSION_REFUSALS } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { setCookies } from '../session-access.ts'

export function sessionDelete(app: ApiApp, deps: { signIn: SignIn }): void {
  app.route({
    method: 'DELETE',
    url: '/api/session',
    config: { access: 'session' },
    schema: {
      operationId: 'signOut',
      tags: ['Signing in'],
      summary: 'Sign out here',
      security: [{ Session: [] }],
      response: { 204: emptyAnswer('Signed out'), ...refusals(...SESSION_REFUSALS, 'malformed_request') },
    },
    handler: async (request, reply) => {
      setCookies(reply, await deps.signIn.signOut(request.headers.cookie))
      return reply.code(204).send(null)
    },
  })
}
