import { useLocation } from 'wouter'
import { useRights } from '../api/rights.ts'
import { Tabs } from '../parts/tabs.tsx'
import { tabsOf } from './navigation.ts'

/** The tabs of a screen of the navigation, of which this is one. There are none if a role sees only one of them. */
export function ScreenTabs({ label, of }: { label: string; of: string }) {
  const [location] = useLocation()
  const may = useRights()
  const tabs = tabsOf(of).filter(({ needs }) => needs === undefined || may(needs))
  if (tabs.length < 2) return null
  return (
    <Tabs
      label={label}
      tabs={tabs.map(({ title, to, tabTitle = title }) => ({
        title: tabTitle,
        href: to,
        isShown: to === location,
      }))}
    />
  )
}
