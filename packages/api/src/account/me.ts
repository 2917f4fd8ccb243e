import type { Me, PersonView } from '@prepaint/contract/api/account.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { domainNames } from '@prepaint/service/accounts/members.ts'
import { hasSecondFactor } from '@prepaint/service/accounts/sign-in/second-factor.ts'
import type { Session } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { SET_UP } from '../http/access.ts'

/**
 * Who is signed in, and in which account. Throws why the account of the request cannot be entered. An operator whose account
 * is suspended is in none, and can end the suspension.
 */
export async function me(
  db: Queryable,
  session: Session,
  plans: PlanCatalogue,
): Promise<{ account: Me | null; person: PersonView; set_up?: string }> {
  const { entry } = session
  const person = personView(session)
  // Otherwise nobody could set it up.
  if (entry === 'second_factor_required') return { account: null, person, set_up: SET_UP }
  if (typeof entry === 'string') {
    const mayGoOn = entry === 'no_account' || (entry === 'account_suspended' && session.isOperator)
    if (!mayGoOn) throw new AppError(entry)
    return { account: null, person }
  }
  const { account: id, accountName, role, domains, plan } = entry
  return {
    account: {
      id,
      name: accountName,
      email: session.email,
      role,
      domains: domains === null ? null : await domainNames(db, id, domains),
      plan: { name: plan, ...planNamed(plans, plan) },
    },
    person,
  }
}

export function personView({ person, email, name, locale, isOperator, factors }: Session): PersonView {
  return { id: person, email, name, locale, is_operator: isOperator, second_factor: hasSecondFactor(factors) }
}
