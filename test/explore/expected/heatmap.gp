set terminal svg noenhanced size 690,360 background rgb 'white' font 'sans,11' name 'p'
set multiplot layout 1,2 rowsfirst margins screen 0.1014,0.8261,0.1722,0.8194 spacing screen 0.0928,0.2333 title 'whole & ''all'': throughput of q:tpt; a ring marks the best'
colorbar_x = 0.8478
colorbar_width = 0.0261
set palette defined (0 '#fde725', 1 '#90d743', 2 '#35b779', 3 '#21918c', 4 '#31688e', 5 '#443983', 6 '#440154')
set cbrange [403.60000000000002:48576]
set cblabel 'throughput, /s'
unset colorbox
unset key
set format cb '%.0s %c/s'
set xlabel 'size [KB]'
set xtics ('4' 0, '64' 1, '1024' 2) out nomirror scale 0.5
set xrange [-0.5:2.5]
set ylabel 'threads'
set ytics ('2' 0, '7' 2, '12' 4, '17' 6, '22' 8, '27' 10, '31' 12, '36' 14, '41' 16, '46' 18, '51' 20, '56' 22) out nomirror scale 0.5
set yrange [-0.5:23.5]
set title 'mode x, only 8' offset 0,-0.7
$panel0 << EOD
0 0 403.60000000000002
1 0 NaN
2 0 NaN
0 1 NaN
1 1 NaN
2 1 4012
0 2 NaN
1 2 7063
2 2 NaN
0 3 NaN
1 3 NaN
2 3 NaN
0 4 4426.3999999999996
1 4 NaN
2 4 NaN
0 5 NaN
1 5 NaN
2 5 14042
0 6 NaN
1 6 17153
2 6 NaN
0 7 NaN
1 7 NaN
2 7 NaN
0 8 8475.6000000000004
1 8 NaN
2 8 NaN
0 9 NaN
1 9 NaN
2 9 24072
0 10 NaN
1 10 27243
2 10 NaN
0 11 NaN
1 11 NaN
2 11 NaN
0 12 12511.6
1 12 NaN
2 12 NaN
0 13 NaN
1 13 NaN
2 13 34102
0 14 NaN
1 14 37333
2 14 NaN
0 15 NaN
1 15 NaN
2 15 NaN
0 16 16144
1 16 NaN
2 16 NaN
0 17 NaN
1 17 NaN
2 17 40120
0 18 NaN
1 18 40360
2 18 NaN
0 19 NaN
1 19 NaN
2 19 NaN
0 20 16144
1 20 NaN
2 20 NaN
0 21 NaN
1 21 NaN
2 21 40120
0 22 NaN
1 22 40360
2 22 NaN
0 23 NaN
1 23 NaN
2 23 NaN
EOD
$values0 << EOD
0 0 "size=4 threads=1…3: 403.6/s"
2 1 "size=1024 threads=4…5: 4012/s"
1 2 "size=64 threads=6…8: 7063/s"
0 4 "size=4 threads=11…13: 4426/s"
2 5 "size=1024 threads=14…15: 14.04 k/s"
1 6 "size=64 threads=16…18: 17.15 k/s"
0 8 "size=4 threads=21…23: 8476/s"
2 9 "size=1024 threads=24…25: 24.07 k/s"
1 10 "size=64 threads=26…28: 27.24 k/s"
0 12 "size=4 threads=31…32: 12.51 k/s"
2 13 "size=1024 threads=33…35: 34.1 k/s"
1 14 "size=64 threads=36…37: 37.33 k/s"
0 16 "size=4 threads=41…42: 16.14 k/s"
2 17 "size=1024 threads=43…45: 40.12 k/s"
1 18 "size=64 threads=46…47: 40.36 k/s"
0 20 "size=4 threads=51…52: 16.14 k/s"
2 21 "size=1024 threads=53…55: 40.12 k/s"
1 22 "size=64 threads=56…57: 40.36 k/s"
-1e300 0 ""
EOD
plot $panel0 using 1:2:3 with image pixels, $values0 using 1:2:3 noautoscale with labels hypertext point pt 5 ps 1.06 lc rgb '#ff000000' notitle
set title 'mode 50%, only 8' offset 0,-0.7
$panel1 << EOD
0 0 NaN
1 0 2414.3999999999996
2 0 NaN
0 1 NaN
1 1 NaN
2 1 NaN
0 2 2897.2799999999997
1 2 NaN
2 2 NaN
0 3 NaN
1 3 NaN
2 3 10929.599999999999
0 4 NaN
1 4 14486.399999999998
2 4 NaN
0 5 NaN
1 5 NaN
2 5 NaN
0 6 7726.079999999999
1 6 NaN
2 6 NaN
0 7 NaN
1 7 NaN
2 7 23073.599999999995
0 8 NaN
1 8 26637.599999999999
2 8 NaN
0 9 NaN
1 9 NaN
2 9 NaN
0 10 12554.879999999999
1 10 NaN
2 10 NaN
0 11 NaN
1 11 NaN
2 11 35217.599999999999
0 12 NaN
1 12 38630.399999999994
2 12 NaN
0 13 NaN
1 13 NaN
2 13 NaN
0 14 17383.679999999997
1 14 NaN
2 14 NaN
0 15 NaN
1 15 NaN
2 15 47361.599999999999
0 16 NaN
1 16 48288
2 16 NaN
0 17 NaN
1 17 NaN
2 17 NaN
0 18 19315.199999999997
1 18 NaN
2 18 NaN
0 19 NaN
1 19 NaN
2 19 48576
0 20 NaN
1 20 48288
2 20 NaN
0 21 NaN
1 21 NaN
2 21 NaN
0 22 19315.200000000001
1 22 NaN
2 22 NaN
0 23 NaN
1 23 NaN
2 23 48576
EOD
$values1 << EOD
1 0 "size=64 threads=1…3: 2414/s"
0 2 "size=4 threads=6…8: 2897/s"
2 3 "size=1024 threads=9…10: 10.93 k/s"
1 4 "size=64 threads=11…13: 14.49 k/s"
0 6 "size=4 threads=16…18: 7726/s"
2 7 "size=1024 threads=19…20: 23.07 k/s"
1 8 "size=64 threads=21…23: 26.64 k/s"
0 10 "size=4 threads=26…28: 12.55 k/s"
2 11 "size=1024 threads=29…30: 35.22 k/s"
1 12 "size=64 threads=31…32: 38.63 k/s"
0 14 "size=4 threads=36…37: 17.38 k/s"
2 15 "size=1024 threads=38…40: 47.36 k/s"
1 16 "size=64 threads=41…42: 48.29 k/s"
0 18 "size=4 threads=46…47: 19.32 k/s"
2 19 "size=1024 threads=48…50: 48.58 k/s"
1 20 "size=64 threads=51…52: 48.29 k/s"
0 22 "size=4 threads=56…57: 19.32 k/s"
2 23 "size=1024 threads=58…60: 48.58 k/s"
-1e300 0 ""
EOD
set colorbox user origin screen colorbar_x,0.15 size screen colorbar_width,0.7
plot $panel1 using 1:2:3 with image pixels, '+' using (1):(16) every ::0::0 with points pt 6 ps 1.6 lw 3 lc rgb 'white', $values1 using 1:2:3 noautoscale with labels hypertext point pt 5 ps 1.06 lc rgb '#ff000000' notitle
unset multiplot
