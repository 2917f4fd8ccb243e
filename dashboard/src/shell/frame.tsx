import { ActionIcon, Stack, Text, Title, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { lazy, type ReactNode, Suspense, useState } from 'react'

import { useTitle } from '../parts/page.tsx'
import classes from './frame.module.css'
import { type SeenBrand, seenBrands } from './seen-brand.ts'

const SignedOutBrand = lazy(() => import('./signed-out-brand.tsx'))

/** A screen without a session. It looks as the account did that was seen last; `brand`: as this one, or as ours (null). */
export function SignedOutFrame(props: {
  title: string
  lead?: ReactNode
  brand?: SeenBrand | null
  children: ReactNode
}) {
  const { title, lead } = props
  const [seen] = useState(() => seenBrands.last())
  const brand = props.brand === undefined ? seen : props.brand
  useTitle(title)
  return (
    <main className={classes.frame}>
      <div className={classes.head}>
        {brand === null ? (
          <Wordmark />
        ) : (
          // Empty until it is loaded, so that nothing flashes.
          <Suspense fallback={<span />}>
            <SignedOutBrand brand={brand} at="top" />
          </Suspense>
        )}
        <SchemeToggle />
      </div>
      <div className={`sheet ${classes.card}`}>
        <Stack gap="lg">
          <Stack gap={4}>
            <Title order={1}>{title}</Title>
            {lead !== undefined && (
              <Text className="quiet" size="sm">
                {lead}
              </Text>
            )}
          </Stack>
          {props.children}
        </Stack>
      </div>
      {brand !== null && (
        <Suspense fallback={null}>
          <SignedOutBrand brand={brand} at="foot" />
        </Suspense>
      )}
    </main>
  )
}

export function Wordmark() {
  return (
    <span className={classes.wordmark}>
      <img src="/icon.svg" width={26} height={26} alt="" />
      Prepaint
    </span>
  )
}

/** Stored in this browser; the system decides until it is pressed. */
export function SchemeToggle() {
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  const isDark = useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark'
  const label = isDark ? 'Use light colours' : 'Use dark colours'
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={label}
      title={label}
      onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
    >
      <svg
        width="18"
        height="18"
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        aria-hidden="true"
      >
        {isDark ? (
          <>
            <circle cx="12" cy="12" r="4" />
            <path
              d="M12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2"
              strokeLinecap="round"
            />
          </>
        ) : (
          <path d="M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5Z" strokeLinejoin="round" />
        )}
      </svg>
    </ActionIcon>
  )
}
