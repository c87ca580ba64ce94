/** The domain of an e-mail address and its parent domains, longest first: `a.b.mx` gives `a.b.mx`, `b.mx`, `mx`. */
export function domainsOf(email: string): string[] {
  const labels = email
    .slice(email.lastIndexOf('@') + 1)
    .toLowerCase()
    .split('.')
  return labels.map((_, n) => labels.slice(n).join('.'))
}
