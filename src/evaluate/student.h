// Student's t and the normal distribution, for intervals and p-values. Pure functions.
#pragma once

namespace chargpt {

/// P(|T| >= |t|) of Student's t with `df` > 0 degrees of freedom (need not be whole). Exact to about 1e-12.
double student_p(double t, double df);

/// The t that |T| reaches with probability `p`, 0 < p < 1: student_critical(0.05, 10) = 2.228.
double student_critical(double p, double df);

/// P(T > critical) of Student's noncentral t, that of a mean which lies `noncentrality` standard errors above 0. Exact
/// to about 1e-8.
double student_power(double noncentrality, double df, double critical);

/// P(Z <= z) of the standard normal distribution.
double normal_cdf(double z);

}  // namespace chargpt
