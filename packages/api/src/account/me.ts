import type { Me } from '@prepaint/contract/api/account.ts'
import type { Plan } from '@prepaint/contract/settings/plans.ts'
import type { Session } from '@prepaint/service/accounts/sign-in/sessions.ts'

/** The account of a session, as its own dashboard sees it. */
export function me({ email, role, plan: name }: Session, plan: Plan): Me {
  return { email, role, plan: { name, ...plan } }
}
