import { type Action, mayDo } from '@prepaint/contract/roles.ts'
import { useSession } from './session.ts'

/** Tells what the role of the person in this account allows. Screens hide the rest; only the server decides. */
export function useRights(): (action: Action) => boolean {
  const { account } = useSession()
  return (action) => account !== null && mayDo(account.role, action, account.domains !== null)
}
