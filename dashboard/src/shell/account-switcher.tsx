import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect } from 'react'
import { useLocation } from 'wouter'
import { ownAccountsQuery } from '../api/queries.ts'
import { request } from '../api/request.ts'
import { switchAccount } from '../api/session.ts'
import type { Me, SignedInView } from '../api/types.ts'
import { notifyFailed } from '../parts/notifications.tsx'
import { ROUTES } from '../route-map.ts'
import classes from './shell.module.css'

const AccountMenu = lazy(() => import('./account-menu.tsx'))

/** The name of the account, and a menu if the person is in several. */
export function AccountSwitcher({ account }: { account: Me }) {
  const accounts = useQuery(ownAccountsQuery)
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  useChosenWhereSeen(account.id)
  const choose = async (id: number) => {
    try {
      const session = await request<SignedInView>('POST', '/api/session/account', { body: { id } })
      // What is open belongs to the account before.
      navigate(ROUTES.domains)
      switchAccount(queries, session)
    } catch (error) {
      notifyFailed('The account was not opened', error)
    }
  }
  const others = accounts.data?.filter(({ id }) => id !== account.id) ?? []
  if (others.length === 0) {
    // It adds nothing for people who are alone in their account.
    return account.name === account.email ? null : <AccountName name={account.name} />
  }
  return (
    <Suspense fallback={<AccountName name={account.name} />}>
      <AccountMenu account={account} others={others} onChoose={(id) => void choose(id)} />
    </Suspense>
  )
}

function AccountName({ name }: { name: string }) {
  return (
    <p className={classes.account}>
      <span className={classes.accountName}>{name}</span>
    </p>
  )
}

/** Downloads and pictures cannot name their account: the one of the tab in front counts for them. */
function useChosenWhereSeen(id: number): void {
  useEffect(() => {
    const choose = () => {
      if (document.visibilityState !== 'visible' || chosenAccount() === id) return
      setChosenAccount(id)
      void request('POST', '/api/session/account', { body: { id } }).catch(() => {})
    }
    choose()
    window.addEventListener('focus', choose)
    return () => window.removeEventListener('focus', choose)
  }, [id])
}

const CHOSEN = 'prepaint.chosen-account'

function chosenAccount(): number | null {
  try {
    return Number(localStorage.getItem(CHOSEN))
  } catch {
    return null
  }
}

function setChosenAccount(id: number): void {
  try {
    localStorage.setItem(CHOSEN, String(id))
  } catch {
    // Without storage each focus asks once more.
  }
}
