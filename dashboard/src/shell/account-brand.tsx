import type { Branding } from '../api/types.ts'
import { Brand, MadeWith, useBrand } from './brand.tsx'

/** The look of an account in the shell. Loaded only for accounts that have chosen one. */
export default function AccountBrand(props: {
  at: 'top' | 'foot' | 'window'
  branding: Branding
  account: string
}) {
  const { at, branding, account } = props
  switch (at) {
    case 'top':
      return <Brand branding={branding} account={account} />
    case 'foot':
      return <MadeWith branding={branding} />
    case 'window':
      return <BrandOfWindow branding={branding} account={account} />
  }
}

function BrandOfWindow({ branding, account }: { branding: Branding; account: string }) {
  useBrand(branding, account)
  return null
}
