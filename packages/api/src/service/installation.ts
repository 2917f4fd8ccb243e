import { installationAnswer } from '@prepaint/contract/api/account.ts'
import { hasAnyAccount } from '@prepaint/service/accounts/accounts.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'

/** What the dashboard shows before anybody can sign in. It tells no more than the sign-in does. */
export function installation(app: ApiApp, { accessDb, singleSignOn }: ApiParts): void {
  const settings = singleSignOn?.settings ?? null
  const sso = settings === null ? null : { name: settings.name, is_only: settings.isOnly }

  app.route({
    method: 'GET',
    url: '/api/installation',
    config: { access: 'open' },
    schema: {
      hide: true,
      response: {
        200: jsonResponse('Whether there is an account, and how people sign in', installationAnswer),
      },
    },
    handler: async () => ({ has_account: await hasAnyAccount(accessDb), single_sign_on: sso }),
  })
}
