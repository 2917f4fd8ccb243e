import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { sessionQuery } from './api/queries.ts'
import { SignedIn } from './api/session.ts'
import { Loading, Trouble } from './parts/states.tsx'
import { ROUTES, signInPath } from './route-map.ts'
import { SignIn } from './screens/account/sign-in.tsx'
import { NotFound } from './shell/not-found.tsx'
import { Shell } from './shell/shell.tsx'

const Welcome = lazy(async () => ({ default: (await import('./screens/account/welcome.tsx')).Welcome }))
const Domains = lazy(async () => ({ default: (await import('./screens/domain/domains.tsx')).Domains }))
const DomainScreen = lazy(async () => ({
  default: (await import('./screens/domain/domain.tsx')).DomainScreen,
}))
const TrafficOfAccount = lazy(async () => ({
  default: (await import('./screens/traffic/traffic.tsx')).TrafficOfAccount,
}))
const PlanScreen = lazy(async () => ({ default: (await import('./screens/account/plan.tsx')).PlanScreen }))
const Keys = lazy(async () => ({ default: (await import('./screens/account/keys.tsx')).Keys }))
const Account = lazy(async () => ({ default: (await import('./screens/account/account.tsx')).Account }))
const Forgotten = lazy(async () => ({
  default: (await import('./screens/account/forgotten-password.tsx')).Forgotten,
}))
const Nodes = lazy(async () => ({ default: (await import('./screens/operator/nodes.tsx')).Nodes }))
const Queue = lazy(async () => ({ default: (await import('./screens/operator/queue.tsx')).Queue }))
const Failures = lazy(async () => ({ default: (await import('./screens/operator/failures.tsx')).Failures }))
const Accounts = lazy(async () => ({ default: (await import('./screens/operator/accounts.tsx')).Accounts }))

/** Which screen an address shows. Those of people who are signed in come in the shell. */
export function App() {
  return (
    <Switch>
      <Route path={ROUTES.welcome}>
        <Suspense fallback={null}>
          <Welcome />
        </Suspense>
      </Route>
      <Route path={ROUTES.forgotten}>
        <Suspense fallback={null}>
          <Forgotten />
        </Suspense>
      </Route>
      <Route path={ROUTES.signIn}>
        <SignIn />
      </Route>
      <Route path="/">
        <Redirect to={ROUTES.domains} replace />
      </Route>
      <Route>
        <OnlySignedIn>
          <Shell>
            <Suspense fallback={<Loading />}>
              <Switch>
                <Route path={ROUTES.domains} component={Domains} />
                <Route path={`${ROUTES.domain}/:part?`}>
                  {({ domain, part }) => <DomainScreen key={domain} domain={domain} part={part} />}
                </Route>
                <Route path={ROUTES.traffic} component={TrafficOfAccount} />
                <Route path={ROUTES.keys} component={Keys} />
                <Route path={ROUTES.plan} component={PlanScreen} />
                <Route path={ROUTES.account} component={Account} />
                <Route path={ROUTES.operatorAccounts} component={Accounts} />
                <Route path={ROUTES.operatorNodes} component={Nodes} />
                <Route path={ROUTES.operatorQueue} component={Queue} />
                <Route path={ROUTES.operatorFailures} component={Failures} />
                <Route component={NotFound} />
              </Switch>
            </Suspense>
          </Shell>
        </OnlySignedIn>
      </Route>
    </Switch>
  )
}

function OnlySignedIn({ children }: { children: ReactNode }) {
  const [location] = useLocation()
  const session = useQuery(sessionQuery)
  if (session.data === null) return <Redirect to={signInPath(location)} replace />
  if (session.data !== undefined) return <SignedIn value={session.data}>{children}</SignedIn>
  if (session.error === null) return null
  return <Trouble error={session.error} onRetry={() => session.refetch()} />
}
